/** The state of a lease, raced; in the engine's package, since what is raced is not public. */
package io.leasehold.engine;
