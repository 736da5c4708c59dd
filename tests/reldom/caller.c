/* The diamond 0 -> 1, 2 -> 3 with an unreached vertex 4, as a C program would solve it. */

#include <inttypes.h>
#include <stdio.h>

#include "reldom.h"

int main(void)
{
    const int64_t first_vertex[] = {0, 5};
    const int64_t offsets[] = {0, 2, 3, 4, 4, 5};
    const uint32_t targets[] = {1, 2, 3, 3, 3};
    uint32_t idom[5];
    reldom_t* solver;
    int v;
    int code = reldom_open(&solver, 5, 5, 1);
    if (code == RELDOM_OK) code = reldom_solve(solver, 1, first_vertex, offsets, targets, idom);
    if (code != RELDOM_OK) {
        fprintf(stderr, "%s\n", reldom_error(code));
        return 1;
    }
    for (v = 0; v < 5; ++v) {
        if (idom[v] == RELDOM_UNREACHED)
            printf("%d is unreached\n", v);
        else
            printf("%d: %" PRIu32 "\n", v, idom[v]);
    }
    reldom_close(solver);
    return 0;
}
