// Prints the OpenAPI document of the console's routes: the types of its client are made from it.
import { buildOpenApiDocument } from "./openapi-documents.ts";

process.stdout.write(buildOpenApiDocument("console"));
