/* Depth pictures of simple shapes, without a graphics library. Lengths are metres, in the map's
 * axes unless said otherwise. cffi reads this file, so it has declarations only.
 */

/* The shapes of a scene; kinds, half extents and frames are those of MuJoCo's geoms. */
typedef struct {
    intptr_t count;
    const int32_t *kinds;
    const double *sizes_m;  /* (count, 3) */
    const double *at_m;     /* (count, 3) */
    const double *axes;     /* (count, 3, 3) from a shape's frame to the map */
    const uint8_t *hidden;  /* (count,) those that are not drawn */
} Shapes;

/* Fills in the depth along the optical axis of each pixel, row by row; 0 where nothing is between
 * the lens' near and far.
 */
void draw_depth(const Shapes *shapes, const Eye *eye, float *depth_m);
