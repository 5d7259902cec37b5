/**
 * Tools for the author of a store: addresses and their passwords, plain names, globs, texts of others, time limits, credentials that
 * change. A store may do without them; the contract is {@link io.leasehold.spi}.
 */
@NullMarked
package io.leasehold.spi.toolkit;

import org.jspecify.annotations.NullMarked;
