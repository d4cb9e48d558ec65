import type { Refusal, StatementKind } from "../verdict.ts";
import type { TreeNode } from "./parse-postgres.ts";

/** A table, view or other relation as a statement names it. */
export interface RelationName {
  readonly schema: string | undefined;
  readonly name: string;
}

/** What the statements of one kind of caller may do. Whatever it says, they only read. */
export interface PostgresPolicy {
  /** Bytes of a text in UTF-8. */
  readonly maxBytes: number;
  readonly statements: ReadonlySet<StatementKind>;
  /** Whether `$1` may stand in them. */
  readonly takesParameters: boolean;
  /** Why a relation may not be read; undefined where it may. */
  readonly refuseRelation: (relation: RelationName) => Refusal | undefined;
  /** Why a column, or the field of a row, may not be named; undefined where it may. */
  readonly refuseColumn: (name: string) => Refusal | undefined;
  /** Why a setting may not be shown; undefined where it may. Its name is in lower case. */
  readonly refuseSetting: (name: string) => Refusal | undefined;
  /** Checks a call by its arguments, where its function may be called. Throws `Refused`. */
  readonly checkCall?: (name: string, args: readonly TreeNode[]) => void;
}
