/**
 * Makes a work that runs one at a time. Whoever asks for it gets a run that begins after the asking; all who ask while
 * one is under way share the next, so that any number of them costs two runs.
 */
export function shareRuns(work: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const again = (): Promise<void> => {
    next = undefined;
    return run();
  };
  const run = (): Promise<void> => {
    if (current !== undefined) {
      next ??= current.then(again, again);
      return next;
    }
    current = work().finally(() => {
      current = undefined;
    });
    return current;
  };
  return run;
}
