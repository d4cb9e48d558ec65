/** The form of all ids of vector stores, by which a text that no database can search for is refused. */
export const VECTOR_STORE_ID = /^vs_[A-Za-z0-9_-]{1,61}$/;

/** A condition on the attributes of files. */
export type AttributeFilter =
  | {
      readonly type: "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "in" | "nin";
      readonly key: string;
      readonly value: string | number | boolean | readonly (string | number)[];
    }
  | { readonly type: "and" | "or"; readonly filters: readonly AttributeFilter[] };

/** A search that the client wants before the answer: its passages are given to the model. */
export interface FileSearch {
  /** At least one. Whether the caller may use them is not checked yet. */
  readonly vectorStoreIds: readonly string[];
  /** Passages at most; undefined: the default of the service. */
  readonly limit: number | undefined;
  /** The least cosine of a passage; undefined: the default of the service. */
  readonly minSimilarity: number | undefined;
  readonly filter: AttributeFilter | undefined;
}
