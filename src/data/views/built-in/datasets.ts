import type { BuiltInView } from "../data-view.ts";

export const datasetList: BuiltInView = {
  name: "datasets",
  comment: "Datasets that exist now. The rows of each are a table of its own name.",
  columns: [
    { name: "id", type: "text", comment: "Id of the dataset.", nullable: false },
    {
      name: "name",
      type: "text",
      comment: "Its name, which is that of its table.",
      nullable: false,
    },
    { name: "description", type: "text", comment: "What its owner says about it.", nullable: true },
    {
      name: "owner_id",
      type: "text",
      comment: "Id of its owner, as in users; empty once the user is deleted.",
      nullable: true,
    },
    { name: "visibility", type: "text", comment: "private or everyone.", nullable: false },
    { name: "columns", type: "integer", comment: "Number of its columns.", nullable: false },
    { name: "rows", type: "bigint", comment: "Number of its rows.", nullable: false },
    {
      name: "version",
      type: "integer",
      comment: "Raised by each change of its rows.",
      nullable: false,
    },
    {
      name: "created_at",
      type: "timestamp with time zone",
      comment: "When it was created.",
      nullable: false,
    },
    {
      name: "updated_at",
      type: "timestamp with time zone",
      comment: "When it or its rows were last changed.",
      nullable: false,
    },
  ],
  key: ["id"],
  select: `select id, name, description, owner_id, visibility, jsonb_array_length(columns) as columns, rows, version, created_at,
    updated_at
  from datasets`,
  extent: `select count(*) as rows, max(updated_at) as updated_at from datasets`,
  copied: { kind: "whole" },
};
