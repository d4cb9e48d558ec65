/** The shape of a message in the request: its fields, with the shape of each. */
export interface MessageShape {
  readonly [field: string]: MessageShape | "any";
}

const words = (text: string): MessageShape =>
  Object.fromEntries(text.split(/\s+/).map((word) => [word, "any" as const]));

const part: MessageShape = {
  ...words(
    `text thought thoughtSignature inlineData fileData executableCode codeExecutionResult toolCall toolResponse
     videoMetadata mediaResolution mediaProcessing partMetadata`,
  ),
  inlineData: words("mimeType data displayName"),
  fileData: words("mimeType fileUri"),
  functionCall: words("args name id"),
  functionResponse: words("response name scheduling id parts willContinue"),
};
const content: MessageShape = { role: "any", parts: part };
const declaration = words(
  "behavior parameters response responseJsonSchema name description parametersJsonSchema",
);
export const schemaFields: ReadonlySet<string> = new Set(
  `default minLength maximum propertyOrdering format minimum type items enum pattern maxProperties maxItems required
   minItems properties minProperties example nullable anyOf maxLength description title`.split(
    /\s+/,
  ),
);

/** Google's request, as far as the simulator supports it. Field names may be in camel case or snake case. */
export const requestShape: MessageShape = {
  ...words("model cachedContent store serviceTier"),
  contents: content,
  systemInstruction: content,
  tools: {
    ...words(
      "mcpServers urlContext codeExecution googleSearchRetrieval googleSearch fileSearch googleMaps computerUse",
    ),
    functionDeclarations: declaration,
  },
  toolConfig: {
    functionCallingConfig: words("mode allowedFunctionNames"),
    ...words("includeServerSideToolInvocations retrievalConfig"),
  },
  safetySettings: words("category threshold"),
  generationConfig: {
    ...words(
      `enableAffectiveDialog speechConfig frequencyPenalty topK topP translationConfig temperature mediaResolution
       imageConfig maxOutputTokens candidateCount enableEnhancedCivicAnswers responseLogprobs responseModalities
       stopSequences responseJsonSchema seed responseSchema logprobs responseFormat presencePenalty
       audioTranscriptionConfig responseMimeType`,
    ),
    thinkingConfig: words("includeThoughts thinkingBudget thinkingLevel"),
  },
};
