import type { Caller } from "../../../core/callers/caller.ts";
import { ServiceError } from "../../../core/service-error.ts";
import type { Dataset, Datasets } from "../../../data/datasets/datasets.ts";

type Finding = Pick<Datasets, "find" | "refuseWriting">;

/** Returns the dataset that a step of this owner reads. Rejects as `Datasets.find`, and with `invalid_value`. */
export async function findReadable(
  datasets: Finding,
  owner: Caller,
  idOrName: string,
): Promise<Dataset> {
  const dataset = await datasets.find(owner, idOrName);
  if (dataset.visibility !== "everyone") refuseForeignName(dataset, owner, idOrName);
  return dataset;
}

/** Returns the dataset that a step of this owner writes. Rejects as `Datasets.refuseWriting`, and with `invalid_value`. */
export async function findOwn(
  datasets: Finding,
  owner: Caller,
  idOrName: string,
): Promise<Dataset> {
  const dataset = await datasets.find(owner, idOrName);
  await datasets.refuseWriting(owner, dataset.id);
  refuseForeignName(dataset, owner, idOrName);
  return dataset;
}

/**
 * Anybody can take a name that somebody else's workflow uses. An administrator's workflow may change every dataset, so
 * its rows would go to whoever took the name first; an id cannot be taken.
 */
function refuseForeignName({ id, name, ownerId }: Dataset, owner: Caller, idOrName: string): void {
  if (idOrName === id || ownerId === owner.ownerId) return;
  const whose = ownerId === null ? "has no owner" : "belongs to somebody else";
  throw new ServiceError(
    "invalid_value",
    `The dataset '${name}' ${whose}; name it by its id, ${id}, if it is the one that is meant.`,
  );
}
