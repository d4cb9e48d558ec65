import { z } from "zod";
import { httpUrl, vendorKey, words } from "./setting-types.ts";

/** The settings of cloud vendors. */
export const cloudSettings = {
  OPENAI_API_KEY: vendorKey.describe("Key for OpenAI; without it its models are not listed."),
  OPENAI_BASE_URL: httpUrl
    .default("https://api.openai.com/v1")
    .describe("Address of OpenAI's interface, with its version."),
  OPENAI_MODELS: words.prefault("").describe("Comma list of OpenAI's chat models to offer."),
  OPENAI_FORWARD: words
    .prefault("")
    .describe("Comma list of further parameters that are sent to OpenAI, such as stop or seed."),
  ANTHROPIC_API_KEY: vendorKey.describe("Key for Anthropic; without it its models are not listed."),
  ANTHROPIC_BASE_URL: httpUrl
    .default("https://api.anthropic.com")
    .describe("Address of Anthropic's interface, without its version."),
  ANTHROPIC_MODELS: words.prefault("").describe("Comma list of Anthropic's models to offer."),
  ANTHROPIC_FORWARD: words
    .prefault("")
    .describe("Comma list of further parameters that are sent to Anthropic, such as stop."),
  GEMINI_API_KEY: vendorKey.describe("Key for Gemini; without it its models are not listed."),
  GEMINI_BASE_URL: httpUrl
    .default("https://generativelanguage.googleapis.com/v1beta")
    .describe("Address of Gemini's interface, with its version."),
  GEMINI_MODELS: words.prefault("").describe("Comma list of Gemini's chat models to offer."),
  GEMINI_FORWARD: words
    .prefault("")
    .describe("Comma list of further parameters that are sent to Gemini, such as stop or seed."),
  COMPATIBLE_API_KEY: vendorKey.describe(
    "Key for the OpenAI-compatible cloud; without it its models are not listed.",
  ),
  COMPATIBLE_BASE_URL: httpUrl
    .default("https://api.mistral.ai/v1")
    .describe(
      "Address of the OpenAI-compatible cloud, with its version: Mistral, xAI, DeepSeek, Groq, OpenRouter and others.",
    ),
  COMPATIBLE_VENDOR: z
    .enum(["mistral", "groq", "other"])
    .optional()
    .describe(
      "Dialect of the OpenAI-compatible cloud: mistral, groq or other; unset derives it from the host name.",
    ),
  COMPATIBLE_MODELS: words
    .prefault("")
    .describe("Comma list of the OpenAI-compatible cloud's chat models to offer."),
  COMPATIBLE_FORWARD: words
    .prefault("")
    .describe("Comma list of further parameters that are sent to the OpenAI-compatible cloud."),
};
