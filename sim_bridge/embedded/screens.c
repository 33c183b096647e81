#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "looks.h"

enum { OUTLINE = 4 };

/* The corners of a rectangle in a wall's frame: along it, and off its line. */
typedef struct {
    double along[OUTLINE], off[OUTLINE];
} Outline;

/* 1 or -1 if all corners are to the left or right of a wall, else 0; fills `off`. */
static int side_of(const Walls *walls, intptr_t wall, const double *corners, Outline *seen) {
    const double *start = walls->starts_m + 2 * wall, *way = walls->along + 2 * wall;
    int left = 0, right = 0;
    for (int i = 0; i < OUTLINE; i++) {
        seen->off[i] = (corners[2 * i + 1] - start[1]) * way[0] - (corners[2 * i] - start[0]) * way[1];
        left += seen->off[i] > walls->margin_m;
        right += seen->off[i] < -walls->margin_m;
    }
    return left == OUTLINE ? 1 : right == OUTLINE ? -1 : 0;
}

/* Fills `along`, which is needed for few pairs of wall and region. */
static void look_along(const Walls *walls, intptr_t wall, const double *corners, Outline *seen) {
    const double *start = walls->starts_m + 2 * wall, *way = walls->along + 2 * wall;
    for (int i = 0; i < OUTLINE; i++)
        seen->along[i] =
            (corners[2 * i] - start[0]) * way[0] + (corners[2 * i + 1] - start[1]) * way[1];
}

/* Whether all lines between two outlines on both sides of a wall intersect it.
 *
 * Lines between corners are the extreme ones.
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
        Outline square, there;
        const int side = side_of(walls, wall, square_m, &square);
        if (!side) continue;
        look_along(walls, wall, square_m, &square);
        for (intptr_t region = 0; region < walls->regions; region++) {
            const double *corners = walls->corners_m + 2 * OUTLINE * region;
            if (hidden[region] || side_of(walls, wall, corners, &there) != -side) continue;
            look_along(walls, wall, corners, &there);
            hidden[region] = parts(&square, &there, walls->lengths_m[wall]);
        }
    }
}
