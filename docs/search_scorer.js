// Pages for readers come before functions and methods, scripts, and results of studies; pages with
// the words in their title come first.
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) => {
    if (kind === "object" || kind === "index") return Math.min(score, 10);
    if (docname.startsWith("api/") && kind === "text") return score - 8;
    if (/^(results\/|gallery\/|decisions$|changelog$)/.test(docname)) return score - 4;
    const query = new URLSearchParams(window.location.search).get("q") || "";
    if (anchor && kind === "title") return score - 2;
    return title.toLowerCase().includes(query.toLowerCase().trim()) ? score + 3 : score;
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
