/** Work that can wait for the end of a turn of the event loop. */
export interface TurnWork {
  /** Must not throw. */
  readonly runAtTurnEnd: () => void;
}

let works: TurnWork[] = [];

/**
 * Runs the work after all that the event loop has read in this turn. Writes to many sockets that follow each other cost
 * less than the same writes between reads: the other side is woken once for many of them.
 */
export function atTurnEnd(work: TurnWork): void {
  if (works.push(work) === 1) setImmediate(runAll);
}

function runAll(): void {
  const due = works;
  works = [];
  for (const work of due) work.runAtTurnEnd();
}
