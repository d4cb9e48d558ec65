/** A little less than two frames of most screens, so that every second one is drawn. */
const DRAWN_EVERY_MS = 25;

/**
 * Returns what calls back before a picture of the screen, but not before each: words come faster than anybody reads, and
 * drawing half as often takes half of the page's time.
 */
export function pacedFrames(): (callback: () => void) => void {
  let drawnAt = 0;
  return (callback) => {
    const draw = () => {
      requestAnimationFrame(() => {
        drawnAt = performance.now();
        callback();
      });
    };
    const wait = DRAWN_EVERY_MS - (performance.now() - drawnAt);
    if (wait > 0) setTimeout(draw, wait);
    else draw();
  };
}
