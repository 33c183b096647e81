#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "looks.h"

enum { OUTLINE = 4 };

/* Where the corners of a rectangle are, seen from a wall: along it, and off its line. */
typedef struct {
    double along[OUTLINE], off[OUTLINE];
    int side; /* 1 or -1: all are to the left or to the right of the wall; 0: neither */
} Outline;

static Outline seen_from(const Walls *walls, intptr_t wall, const double *corners) {
    const double *start = walls->starts_m + 2 * wall, *way = walls->along + 2 * wall;
    Outline seen;
    int left = 0, right = 0;
    for (int i = 0; i < OUTLINE; i++) {
        const double x = corners[2 * i] - start[0], y = corners[2 * i + 1] - start[1];
        seen.along[i] = x * way[0] + y * way[1];
        seen.off[i] = y * way[0] - x * way[1];
        left += seen.off[i] > walls->margin_m;
        right += seen.off[i] < -walls->margin_m;
    }
    seen.side = left == OUTLINE ? 1 : right == OUTLINE ? -1 : 0;
    return seen;
}

/* Whether all lines between two outlines on both sides of a wall meet it.
 *
 * Lines from a corner to a corner are the outermost of all those between.
 */
static bool parts(const Outline *one, const Outline *other, double length_m) {
    for (int i = 0; i < OUTLINE; i++)
        for (int j = 0; j < OUTLINE; j++) {
            const double near = fabs(one->off[i]), far = fabs(other->off[j]);
            const double share = near / (near + far);
            const double at = one->along[i] + (other->along[j] - one->along[i]) * share;
            if (!(at >= 0.0 && at <= length_m)) return false;
        }
    return true;
}

void hide(const Walls *walls, const double *square_m, uint8_t *hidden) {
    for (intptr_t region = 0; region < walls->regions; region++) hidden[region] = false;
    for (intptr_t wall = 0; wall < walls->walls; wall++) {
        const Outline square = seen_from(walls, wall, square_m);
        if (!square.side) continue;
        for (intptr_t region = 0; region < walls->regions; region++) {
            if (hidden[region]) continue;
            const Outline there = seen_from(walls, wall, walls->corners_m + 2 * OUTLINE * region);
            if (there.side != -square.side) continue;
            hidden[region] = parts(&square, &there, walls->lengths_m[wall]);
        }
    }
}
