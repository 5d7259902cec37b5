/**
 * A process of a demonstration that performs one step at a time: with Leasehold's lock, with a broken one, or without.
 */
@NullMarked
package io.leasehold.demo.actor;

import org.jspecify.annotations.NullMarked;
