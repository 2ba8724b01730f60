package main

// dropPercent is the percentage of accepted documents that this server loses. scripts/intake/clone
// changes this line on a branch of the repository that it makes for tests.
const dropPercent = 0
