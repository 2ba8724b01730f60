package main

// dropPercent of the accepted documents are lost. A branch of the repository that tests
// make has another number here.
const dropPercent = 0
