import type { datasets } from "../../db/tables/datasets.ts";
import { COLUMN_TYPES } from "../datasets/columns.ts";
import type { SchemaView, ViewColumnType, ViewedDataset } from "./data-view.ts";
import { quoteName, type ViewText } from "./view-statements.ts";

/** A dataset as it is stored. */
export type ViewedRow = typeof datasets.$inferSelect;

/** Describes the view of a dataset. */
export function describeDataset(row: ViewedRow): SchemaView & { readonly dataset: ViewedDataset } {
  const { id, name, description, ownerId, visibility, tableName, version, rows, updatedAt } = row;
  const columns = row.columns.map((column) => ({
    name: column.name,
    type: viewType(COLUMN_TYPES[column.type]),
    comment: row.key.includes(column.name) ? `${column.type}, part of the key` : column.type,
    nullable: !row.key.includes(column.name),
  }));
  return {
    ...{ name, comment: description, columns, key: row.key },
    dataset: {
      ...{ id, ownerId, visibility, tableName, version, rows },
      updatedAt: updatedAt.getTime(),
    },
  };
}

/** The view itself. Hidden columns stay in the table; removed rows are there for readers that began before. */
export function datasetViewText(row: ViewedRow): ViewText {
  const { name, comment, columns } = describeDataset(row);
  const names = columns.map((column) => quoteName(column.name)).join(", ");
  const select = `select ${names} from datasets.${quoteName(row.tableName)} where _gone is null`;
  return { name, comment, columns, select, isBarrier: true };
}

function viewType(type: (typeof COLUMN_TYPES)[keyof typeof COLUMN_TYPES]): ViewColumnType {
  return type === "timestamptz" ? "timestamp with time zone" : type;
}
