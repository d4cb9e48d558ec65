/** Work of a turn; longer, and keys and clicks would wait. */
const TURN_MS = 8;

const waiting = new Set<() => void>();
let isDue = false;

/**
 * Does work that can wait, such as drawing more of a long text, after the screen has been drawn: pieces in their order,
 * a few milliseconds of them between two pictures. Returns the function that takes it back.
 */
export function takeTurn(work: () => void): () => void {
  waiting.add(work);
  if (!isDue) nextTurn();
  return () => waiting.delete(work);
}

function nextTurn(): void {
  isDue = true;
  requestAnimationFrame(() => setTimeout(runTurn));
}

function runTurn(): void {
  const endsAt = performance.now() + TURN_MS;
  for (const work of waiting) {
    waiting.delete(work);
    work();
    if (performance.now() >= endsAt) break;
  }
  if (waiting.size > 0) nextTurn();
  else isDue = false;
}
