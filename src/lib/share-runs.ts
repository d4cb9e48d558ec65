/**
 * Wraps a job so that only one run is active at a time. Each caller gets a run that begins after the call. All callers
 * during a run share the next one, so any number of calls costs two runs.
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
