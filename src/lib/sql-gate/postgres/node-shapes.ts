/**
 * How a field of a parse tree is read: `node` is a node or a list of nodes, each in an object of one key, its type;
 * `plain` is a word, number or flag without meaning for the gate; any other word is the type of a node that stands in
 * the field without that object.
 */
export type FieldShape = "node" | "plain" | (string & {});

/**
 * The nodes that a reading statement may have, with the fields that they may have. A node or field that is not listed is
 * refused, such as `intoClause` and `lockingClause` of `SelectStmt` and whatever a later PostgreSQL adds.
 */
export const NODE_SHAPES: ReadonlyMap<string, ReadonlyMap<string, FieldShape>> = shapes({
  // Queries
  SelectStmt:
    "distinctClause targetList fromClause whereClause groupClause groupDistinct! havingClause windowClause valuesLists " +
    "sortClause limitOffset limitCount limitOption! withClause:WithClause op! all! larg:SelectStmt rarg:SelectStmt",
  WithClause: "ctes recursive!",
  CommonTableExpr:
    "ctename! aliascolnames ctematerialized! ctequery search_clause:CTESearchClause cycle_clause:CTECycleClause",
  CTESearchClause: "search_col_list search_breadth_first! search_seq_column!",
  CTECycleClause:
    "cycle_col_list cycle_mark_column! cycle_mark_value cycle_mark_default cycle_path_column!",
  ResTarget: "name! indirection val",
  SortBy: "node sortby_dir! sortby_nulls! useOp",
  GroupingSet: "kind! content",
  WindowDef: "name! refname! partitionClause orderClause frameOptions! startOffset endOffset",
  Alias: "aliasname! colnames",

  // What stands in FROM
  RangeVar: "catalogname! schemaname! relname! inh! relpersistence! alias:Alias",
  RangeSubselect: "lateral! subquery alias:Alias",
  RangeFunction: "lateral! ordinality! is_rowsfrom! functions alias:Alias coldeflist",
  ColumnDef: "colname! typeName:TypeName is_local! collClause:CollateClause",
  RangeTableSample: "relation method args repeatable",
  RangeTableFunc: "lateral! docexpr rowexpr namespaces columns alias:Alias",
  RangeTableFuncCol: "colname! typeName:TypeName for_ordinality! is_not_null! colexpr coldefexpr",
  JoinExpr: "jointype! isNatural! larg rarg usingClause join_using_alias:Alias quals alias:Alias",

  // Expressions
  A_Const: "ival! fval! boolval! sval! bsval! isnull!",
  A_Expr: "kind! name lexpr rexpr rexpr_list_start! rexpr_list_end!",
  A_ArrayExpr: "elements list_start! list_end!",
  A_Indirection: "arg indirection",
  A_Indices: "is_slice! lidx uidx",
  A_Star: "",
  BoolExpr: "boolop! args",
  BooleanTest: "arg booltesttype!",
  CaseExpr: "arg args defresult",
  CaseWhen: "expr result",
  CoalesceExpr: "args",
  CollateClause: "arg collname",
  ColumnRef: "fields",
  FuncCall:
    "funcname args agg_order agg_filter over:WindowDef agg_within_group! agg_star! agg_distinct! func_variadic! funcformat!",
  GroupingFunc: "args",
  MinMaxExpr: "op! args",
  NamedArgExpr: "arg name! argnumber!",
  NullTest: "arg nulltesttype!",
  ParamRef: "number!",
  RowExpr: "args row_format!",
  SQLValueFunction: "op! typmod!",
  SubLink: "subLinkType! testexpr operName subselect",
  TypeCast: "arg typeName:TypeName",
  TypeName: "names typmods typemod! arrayBounds",
  XmlExpr: "op! name! named_args args xmloption! indent!",
  XmlSerialize: "xmloption! expr typeName:TypeName indent!",

  // JSON in SQL
  JsonTable:
    "context_item:JsonValueExpr pathspec:JsonTablePathSpec passing columns on_error:JsonBehavior alias:Alias lateral!",
  JsonTableColumn:
    "coltype! name! typeName:TypeName pathspec:JsonTablePathSpec format! wrapper! quotes! columns " +
    "on_empty:JsonBehavior on_error:JsonBehavior",
  JsonTablePathSpec: "string name! name_location!",
  JsonFuncExpr:
    "op! column_name! context_item:JsonValueExpr pathspec passing output:JsonOutput on_empty:JsonBehavior " +
    "on_error:JsonBehavior wrapper! quotes!",
  JsonBehavior: "btype! expr coerce!",
  JsonValueExpr: "raw_expr formatted_expr format!",
  JsonOutput: "typeName:TypeName returning!",
  JsonArgument: "val:JsonValueExpr name!",
  JsonObjectConstructor: "exprs output:JsonOutput absent_on_null! unique!",
  JsonArrayConstructor: "exprs output:JsonOutput absent_on_null!",
  JsonArrayQueryConstructor: "query output:JsonOutput format! absent_on_null!",
  JsonObjectAgg: "constructor:JsonAggConstructor arg:JsonKeyValue absent_on_null! unique!",
  JsonArrayAgg: "constructor:JsonAggConstructor arg:JsonValueExpr absent_on_null!",
  JsonAggConstructor: "output:JsonOutput agg_filter agg_order over:WindowDef",
  JsonKeyValue: "key value:JsonValueExpr",
  JsonIsPredicate: "expr format! item_type! unique_keys!",
  JsonParseExpr: "expr:JsonValueExpr output:JsonOutput unique_keys!",
  JsonScalarExpr: "expr output:JsonOutput",
  JsonSerializeExpr: "expr:JsonValueExpr output:JsonOutput",

  // Values and lists
  List: "items",
  String: "sval!",
  Integer: "ival!",
});

/** Reads `name` as a field of nodes, `name!` as a plain one, and `name:Type` as a node of that type. */
function shapes(
  source: Readonly<Record<string, string>>,
): ReadonlyMap<string, ReadonlyMap<string, FieldShape>> {
  return new Map(
    Object.entries(source).map(([type, fields]) => [
      type,
      new Map(["location!", ...fields.split(" ")].filter((field) => field !== "").map(readField)),
    ]),
  );
}

function readField(field: string): [string, FieldShape] {
  if (field.endsWith("!")) return [field.slice(0, -1), "plain"];
  const [name = "", type = "node"] = field.split(":");
  return [name, type];
}
