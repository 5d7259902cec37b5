/**
 * The common part of adapters that put a lock around an annotated method, as {@code leasehold-spring} and {@code leasehold-cdi} do: the
 * options of a method, its locks at a client, the bodies that run under them, and the interrupt of a loss. No container is known
 * here. For such adapters alone: applications use their annotations.
 */
@NullMarked
package io.leasehold.spi.method;

import org.jspecify.annotations.NullMarked;
