import type { Caller } from "../../../core/callers/caller.ts";
import { ServiceError } from "../../../core/service-error.ts";
import type { Dataset, Datasets } from "../../../data/datasets/datasets.ts";
import { foreignName, isOwnName, isReadByName } from "../../dataset-names.ts";

type Finding = Pick<Datasets, "find" | "refuseWriting">;

/** Returns the dataset that a step of this owner reads. Rejects as `Datasets.find`, and with `invalid_value`. */
export async function findReadable(
  datasets: Finding,
  owner: Caller,
  idOrName: string,
): Promise<Dataset> {
  const dataset = await datasets.find(owner, idOrName);
  return isReadByName(dataset, owner, idOrName) ? dataset : refuse(dataset);
}

/** Returns the dataset that a step of this owner writes. Rejects as `Datasets.refuseWriting`, and with `invalid_value`. */
export async function findOwn(
  datasets: Finding,
  owner: Caller,
  idOrName: string,
): Promise<Dataset> {
  const dataset = await datasets.find(owner, idOrName);
  await datasets.refuseWriting(owner, dataset.id);
  return isOwnName(dataset, owner, idOrName) ? dataset : refuse(dataset);
}

function refuse(dataset: Dataset): never {
  throw new ServiceError("invalid_value", foreignName(dataset));
}
