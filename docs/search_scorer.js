// Pages for readers come before the reference, the reference before results of studies and decisions.
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) => {
    if (kind === "object" || docname.startsWith("api/")) return score - 8;
    if (/^(results\/|decisions$|changelog$)/.test(docname)) return score - 4;
    return anchor && kind === "title" ? score - 2 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
