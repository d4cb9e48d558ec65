import type { Dataset } from "../data/datasets/datasets.ts";

/** A dataset as far as it decides whether a name means it. */
export type NamedDataset = Pick<Dataset, "id" | "ownerId" | "visibility">;

/**
 * Whether a workflow of this owner follows and reads a dataset by this id or name. Anybody can take a name that somebody
 * else's workflow uses, and an administrator's workflow may use every dataset: whoever took the name first would decide
 * what it works with. An id cannot be taken, and only administrators share.
 */
export function isReadByName(
  dataset: NamedDataset,
  owner: { readonly ownerId: string },
  idOrName: string,
): boolean {
  return dataset.visibility === "everyone" || isOwnName(dataset, owner, idOrName);
}

/** The same for a workflow that writes. */
export function isOwnName(
  { id, ownerId }: Pick<NamedDataset, "id" | "ownerId">,
  owner: { readonly ownerId: string },
  idOrName: string,
): boolean {
  return idOrName === id || ownerId === owner.ownerId;
}

/** Says what to do about a name that means no dataset here. */
export function foreignName({
  id,
  name,
  ownerId,
}: Pick<Dataset, "id" | "name" | "ownerId">): string {
  const whose = ownerId === null ? "has no owner" : "belongs to somebody else";
  return `The dataset '${name}' ${whose}; name it by its id, ${id}, if it is the one that is meant.`;
}
