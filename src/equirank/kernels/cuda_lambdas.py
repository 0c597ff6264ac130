"""Gradients and Hessians of LambdaMART on a CUDA device: one block of threads per list.

The kernel computes what `pair_gradients` computes, for two groups and metrics of prefixes. Every
thread sums the pairs of its own positions, so no sum depends on the order of threads.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .lambdas import GroupSteps, Lists, Loss, Performance
    from .swaps import Fairness

__all__ = ["SOURCE", "DeviceLists", "DeviceSteps"]

#: Number of threads per list.
N_THREADS = 128

#: The kernel in CUDA C++; scratch arrays have one entry per row, ``effects`` per row and cut.
SOURCE = r"""
extern "C" __global__ void pair_gradients(
    const double* score, const long long* offsets, const double* query_weight,
    const double alpha, const double sigma, const int normalize, const int tied_pairs,
    const double* gain, const double* discount, const double* inverse_ideal,
    const long long truncation, const int cost_kind, const double* cost,
    const int has_groups, const int* bucket, const long long first_cut, const long long step,
    const long long* n_cuts, const long long* last_cut, const long long* table_start,
    const long long* table_width, const double* table, const int targeted, const int same_block,
    const long long* target_start, const long long* target_class, const int* target_block,
    const int adaptive, double* divisor, double* last_grad,
    int* order, double* ranked, double* ranked_gain, double* ranked_cost, int* member,
    double* effect_in, double* effect_out, int* block, int* counter,
    double* grad, double* hess)
{
    __shared__ double sums[128];
    const int q = blockIdx.x, me = threadIdx.x, width = blockDim.x;
    const long long first = offsets[q];
    const int n = (int)(offsets[q + 1] - first);
    const double share = 1.0 - alpha;
    const bool fair = has_groups && share > 0.0;
    score += first; order += first; ranked += first; ranked_gain += first; ranked_cost += first;
    member += first; effect_in += first; effect_out += first; block += first; counter += first;

    // order by score, ties by row
    for (int i = me; i < n; i += width) {
        int rank = 0;
        for (int j = 0; j < n; ++j)
            rank += score[j] > score[i] || (score[j] == score[i] && j < i);
        order[rank] = i;
        ranked[rank] = score[i];
        ranked_gain[rank] = gain[first + i];
        ranked_cost[rank] = cost_kind == 0 ? 1.0 : cost[first + i];
        member[rank] = fair && bucket[first + i] == 0;
        counter[i] = 0;
        block[i] = 0;
    }
    __syncthreads();

    // effects of one more and one fewer of the group at the cuts before each position
    const int cuts = fair ? (int)n_cuts[q] : 0;
    const long long irregular = fair ? last_cut[q] : 0;
    if (fair && me == 0) {
        const long long begin = table_start[q], wide = table_width[q];
        double more = 0.0, fewer = 0.0;
        int count = 0, at = 0;
        for (int t = 0; t <= cuts; ++t) {
            long long cut = t == cuts ? n : first_cut + t * step;
            if (t == cuts - 1 && irregular > 0) cut = irregular;
            for (; at < cut; ++at) {
                effect_out[at] = more;
                effect_in[at] = fewer;
                count += member[at];
            }
            if (t < cuts && begin >= 0) {
                const long long entry = begin + t * wide + count;
                if (count + 1 < wide) more += table[entry + 1] - table[entry];
                if (count > 0) fewer += table[entry - 1] - table[entry];
            }
        }
        if (adaptive) {
            const double now = fewer - more, same = now * last_grad[q];
            last_grad[q] = now;
            if (same < 0.0) divisor[q] = fmin(divisor[q] * 2.0, 200.0);
            else if (same > 0.0) divisor[q] = fmax(divisor[q] / 1.05, 1.0);
        }
        if (targeted)
            for (int p = 0; p < n; ++p) {
                const long long row = first + order[p];
                block[p] = target_block[target_start[row] + counter[target_class[row]]++];
            }
    }
    __syncthreads();

    const long long near = alpha > 0.0 && inverse_ideal[q] > 0.0 ? truncation : 0;
    long long far = 0;
    if (fair && cuts > 0)
        far = irregular > 0 ? irregular : first_cut + (cuts - 1) * step;
    const long long deepest = near > far ? near : far;
    const bool skip_ties = alpha > 0.0 && !targeted && !tied_pairs;
    const double spread = ranked[0] - ranked[n - 1], fair_step = 1.0 / divisor[q];
    const bool damp = normalize && spread > 0.0;
    const double scale = alpha * inverse_ideal[q];
    double total = 0.0;
    for (int i = me; i < n; i += width) {
        double grad_sum = 0.0, hess_sum = 0.0;
        for (int j = 0; j < n; ++j) {
            const int a = i < j ? i : j, b = i < j ? j : i;
            if (i == j || a >= deepest) continue;
            double x = 0.0, z = 0.0;
            if (a < near) {
                x = scale * (ranked_gain[a] - ranked_gain[b]) * (discount[a] - discount[b]);
                if (cost_kind == 1) x *= ranked_cost[a] * ranked_cost[b];
                if (cost_kind == 2) x *= ranked_cost[a] + ranked_cost[b];
            }
            if (a < far && member[a] != member[b] && !(skip_ties && ranked[a] == ranked[b])) {
                const double* effect = member[a] ? effect_in : effect_out;
                z = share * (effect[b] - effect[a]);
                if (targeted) {
                    const double side = block[b] > block[a] ? 1.0 : block[b] < block[a] ? -1.0
                                        : same_block ? -1.0 : 0.0;
                    z = fabs(z) * side;
                }
            }
            if (x == 0.0 && z == 0.0) continue;
            const double weight = fabs(x) + fabs(z);
            z *= fair_step;
            const double keep = fmax(x, 0.0) + fmax(z, 0.0);
            const double reverse = fmax(-x, 0.0) + fmax(-z, 0.0);
            const double gap = ranked[a] - ranked[b];
            const double odds = exp(-sigma * gap), both = 1.0 + odds;
            const double damped = damp ? 0.01 + gap : 1.0;
            const double up = odds * keep / (both * damped), down = reverse / (both * damped);
            grad_sum += i == a ? down - up : up - down;
            hess_sum += odds * weight / (both * both * damped);
            total += up + down;
        }
        grad[first + order[i]] = grad_sum;
        hess[first + order[i]] = hess_sum;
    }
    // each pair was met twice, so the sum needs no factor of 2
    sums[me] = total;
    __syncthreads();
    for (int half = width / 2; half > 0; half /= 2) {
        if (me < half) sums[me] += sums[me + half];
        __syncthreads();
    }
    total = sums[0] * sigma;
    double factor = query_weight[q];
    if (normalize && total > 0.0) factor *= log2(1.0 + total) / total;
    for (int i = me; i < n; i += width) {
        grad[first + i] *= factor * sigma;
        hess[first + i] *= factor * sigma * sigma;
    }
}
"""


class DeviceSteps:
    """Step control of the fairness part on the device."""

    def __init__(self, cupy: Any, steps: "GroupSteps") -> None:
        self.adaptive = steps.last_grad.shape[1] > 0
        self.divisor = cupy.asarray(steps.divisor)
        self.last_grad = cupy.asarray(steps.last_grad[:, 0] if self.adaptive else np.zeros(1))


class DeviceLists:
    """Lists of one data set in the memory of the device, with the compiled kernel.

    Parameters
    ----------
    cupy : module
        CuPy.
    lists, performance, fairness : Lists, Performance, Fairness
        As of `pair_gradients`; two groups, a metric of prefixes, no costs or item costs.
    """

    def __init__(
        self, cupy: Any, lists: "Lists", performance: "Performance", fairness: "Fairness"
    ) -> None:
        self.cupy, self.n_queries = cupy, len(lists.weight)
        self.kernel = cupy.RawKernel(SOURCE, "pair_gradients")
        self.offsets = cupy.asarray(lists.offsets, dtype=np.int64)
        self.weight = cupy.asarray(lists.weight)
        self.n_rows = int(lists.offsets[-1])
        at = cupy.asarray
        self.performance = (
            at(performance.gain), at(performance.discount), at(performance.inverse_ideal),
            np.int64(performance.truncation), np.int32(performance.cost_kind),
            at(performance.cost if len(performance.cost) else np.zeros(1)),
        )  # fmt: skip
        target = fairness if fairness.targeted else None
        none = np.zeros(1, dtype=np.int64)
        self.fairness = (
            np.int32(fairness.kind != 0), at(fairness.bucket, dtype=np.int32),
            np.int64(fairness.first_cut), np.int64(fairness.step), at(fairness.n_cuts),
            at(fairness.last_cut), at(np.ascontiguousarray(fairness.start[:, 0])),
            at(np.ascontiguousarray(fairness.width[:, 0])),
            at(fairness.table if len(fairness.table) else np.zeros(1)),
            np.int32(fairness.targeted), np.int32(fairness.same_block),
            at(none if target is None else target.target_start),
            at(none if target is None else target.target_class),
            at(none if target is None else target.target_block, dtype=np.int32),
        )  # fmt: skip
        whole = [cupy.empty(self.n_rows, dtype=np.int32) for _ in range(4)]
        real = [cupy.empty(self.n_rows) for _ in range(5)]
        order, member, block, counter = whole
        self.scratch = (order, *real[:3], member, *real[3:], block, counter)

    def gradients(
        self, score: Any, loss: "Loss", steps: DeviceSteps, parts: str = "both"
    ) -> tuple[Any, Any]:
        """Return gradient and Hessian of each stored row as arrays of the device.

        ``parts`` leaves out the other part: "ndcg" or "fair" of a sum that is normalised apart.
        """
        cupy = self.cupy
        grad, hess = cupy.empty(self.n_rows), cupy.empty(self.n_rows)
        performance, fairness = list(self.performance), list(self.fairness)
        if parts == "fair":
            performance[2] = cupy.zeros_like(performance[2])
        if parts == "ndcg":
            fairness[0] = np.int32(0)
        self.kernel(
            (self.n_queries,),
            (N_THREADS,),
            (
                score, self.offsets, self.weight, np.float64(loss.alpha), np.float64(loss.sigma),
                np.int32(loss.normalize), np.int32(loss.tied_pairs), *performance, *fairness,
                np.int32(steps.adaptive), steps.divisor, steps.last_grad, *self.scratch, grad, hess,
            ),
        )  # fmt: skip
        return grad, hess
