/** Races on the state of a lease; in the engine's package, since that state is not public. */
package io.leasehold.engine;
