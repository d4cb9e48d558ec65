import { expect, test } from "vitest";
import { buildOpenApiDocument } from "../../../scripts/openapi-documents.ts";
import { type ApiDocument, operationsOf } from "../../support/api-document.ts";

const operations = (["public", "console"] as const).flatMap((audience) =>
  operationsOf(JSON.parse(buildOpenApiDocument(audience)) as ApiDocument),
);

/** What a route may answer beside the refusals of its kind. */
test.each([
  ["post /v1/files", ["429"]],
  ["post /api/datasets/import", ["429"]],
  ["post /api/datasets/{id}/rows", ["409", "429"]],
  ["get /api/datasets/{id}/rows", ["409"]],
  ["post /api/documents/text", ["429"]],
  ["post /api/auth/login", ["401", "429", "503"]],
])("%s is documented with its refusals", (where, statuses) => {
  const [, , operation] = operations.find(([name]) => name === where) ?? [];
  expect(Object.keys(operation?.responses ?? {})).toEqual(expect.arrayContaining(statuses));
});
