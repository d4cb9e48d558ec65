interface SavedDraft<Draft> {
  /** The draft as it was sent. */
  readonly sent: Draft;
  /** The draft as the server has it by now. */
  readonly saved: Draft;
}

/** Returns a draft once it is saved: what was changed since it was sent stays, all else is as it was saved. */
export function withLaterEdits<Draft extends object>(
  now: Draft,
  { sent, saved }: SavedDraft<Draft>,
): Draft {
  const names = Object.keys(now) as (keyof Draft)[];
  const later = names.filter((name) => JSON.stringify(now[name]) !== JSON.stringify(sent[name]));
  return { ...saved, ...Object.fromEntries(later.map((name) => [name, now[name]])) };
}
