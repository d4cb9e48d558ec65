/**
 * Gives schemas their method for the OpenAPI document before any is made: files share their modules, and the first one of
 * a process may import a codec only.
 */
import "@hono/zod-openapi";
