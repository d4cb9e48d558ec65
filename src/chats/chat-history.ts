/** What decides which chats give way. */
export interface HistoryEntry {
  readonly id: string;
  readonly pinned: boolean;
  /** The last save of its document. */
  readonly updatedAt: Date;
}

/**
 * Returns the chats of one user that the next one replaces: as many as exceed the limit with it, those that were saved
 * longest ago and are not pinned. More than one gives way only after the limit was lowered. Undefined when the next one
 * is not kept: the limit is 0, or too few chats are not pinned.
 */
export function replacedByNext<Chat extends HistoryEntry>(
  chats: readonly Chat[],
  limit: number,
): readonly Chat[] | undefined {
  if (limit === 0) return undefined;
  const excess = Math.max(0, chats.length + 1 - limit);
  const replaceable = newestFirst(chats.filter(({ pinned }) => !pinned)).reverse();
  return replaceable.length < excess ? undefined : replaceable.slice(0, excess);
}

/** Returns the chats in the order of their lists. Those saved in one millisecond have the order of their ids. */
export function newestFirst<Chat extends HistoryEntry>(chats: readonly Chat[]): Chat[] {
  return [...chats].sort(
    (one, other) =>
      other.updatedAt.getTime() - one.updatedAt.getTime() || (one.id < other.id ? -1 : 1),
  );
}
