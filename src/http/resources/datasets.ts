import {
  createDataset,
  deleteDataset,
  findDataset,
  listDatasets,
  updateDataset,
} from "../../data/datasets/change-dataset.ts";
import type { DatasetRow } from "../../data/datasets/dataset-store.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson } from "../answers/to-json.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import {
  BODY_LIMITS,
  DATASET,
  DATASETS,
  datasetChange,
  datasetErrors,
  datasetList,
  datasetQuery,
  datasetSchema,
  errors,
  newDataset,
} from "../dataset-fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const LIST = resourceRoute({
  ...DATASETS,
  method: "get",
  operationId: "listDatasets",
  summary: "List the datasets",
  description: "The caller's own and those for everyone, newest first; administrators see all.",
  query: datasetQuery,
  answer: { description: "A page of the datasets.", schema: datasetList },
  errors,
});
const CREATE = resourceRoute({
  ...DATASETS,
  method: "post",
  operationId: "createDataset",
  summary: "Create an empty dataset",
  description:
    "It is private, unless an administrator shares it. An import creates one with its rows.",
  body: newDataset,
  answer: { status: 201, description: "The dataset.", schema: datasetSchema },
  errors,
});
const FIND = resourceRoute({
  ...DATASET,
  method: "get",
  operationId: "getDataset",
  summary: "Show one dataset",
  description: "By its id or name.",
  answer: { description: "The dataset.", schema: datasetSchema },
  errors: datasetErrors,
});
const UPDATE = resourceRoute({
  ...DATASET,
  method: "patch",
  operationId: "updateDataset",
  summary: "Change a dataset",
  description:
    "Fields that are not sent stay as they are. Its owner and administrators may do this.",
  body: datasetChange,
  answer: { description: "The dataset as it is now.", schema: datasetSchema },
  errors: datasetErrors,
});
const DELETE = resourceRoute({
  ...DATASET,
  method: "delete",
  operationId: "deleteDataset",
  summary: "Delete a dataset",
  description: "With its rows. Its owner and administrators may do this.",
  answer: { status: 204, description: "The dataset is gone." },
  errors: datasetErrors,
});

/** `/api/datasets`: tables of typed rows. Their rows are in `dataset-rows.ts`. */
export function datasetsRoutes(deps: Deps): Router {
  const { store } = deps.datasets;
  const router = createRouter(deps);
  router.add(LIST, async (context, caller) => {
    const { datasets, total } = await listDatasets(store, caller, readQuery(context, datasetQuery));
    return jsonResponse(toJson(datasetList, { data: datasets.map(shown), total }));
  });
  router.add(CREATE, async (context, caller) => {
    const given = await readCheckedBody(context, newDataset, BODY_LIMITS);
    const created = await createDataset(store, actorOf(context, caller), given);
    return jsonResponse(toJson(datasetSchema, shown(created)), 201);
  });
  router.add(FIND, async (context, caller) => {
    const found = await findDataset(store, caller, idOf(context));
    return jsonResponse(toJson(datasetSchema, shown(found)));
  });
  router.add(UPDATE, async (context, caller) => {
    const { add_columns, ...given } = await readCheckedBody(context, datasetChange, BODY_LIMITS);
    const change = { id: idOf(context), fields: { ...given, addColumns: add_columns } };
    const changed = await updateDataset(store, actorOf(context, caller), change);
    return jsonResponse(toJson(datasetSchema, shown(changed)));
  });
  router.add(DELETE, async (context, caller) => {
    await deleteDataset(store, actorOf(context, caller), idOf(context));
    return new Response(null, { status: 204 });
  });
  return router;
}

function shown({ columns: known, key: names, ...dataset }: DatasetRow) {
  return { ...dataset, columns: [...known], key: [...names] };
}
