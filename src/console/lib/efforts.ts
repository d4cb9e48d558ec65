/** How much a model should think, as the gateway names it; the empty one leaves it to the model. */
export const EFFORTS = ["", "none", "low", "medium", "high", "max"] as const;
