/**
 * The common part of adapters that run an annotated method under a lock, such as {@code leasehold-spring} and
 * {@code leasehold-cdi}: the options of a method, its locks at a client, the bodies that run under them, and the
 * interrupt after a loss. It knows no container. Only such adapters use it; applications use their annotations.
 */
@NullMarked
package io.leasehold.spi.method;

import org.jspecify.annotations.NullMarked;
