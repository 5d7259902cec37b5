/**
 * Utilities for authors of a store: addresses with passwords, encoded names, globs, foreign text, time limits, rotating
 * credentials. They are optional; the contract is {@link io.leasehold.spi}.
 */
@NullMarked
package io.leasehold.spi.toolkit;

import org.jspecify.annotations.NullMarked;
