// What is said about prices wherever they stand.

export const money = {
  none: "no price",
  without: (models: string) => `No price for ${models}`,
  list: "list price, not a bill",
};
