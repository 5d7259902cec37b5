/**
 * A TCP proxy that injects the faults a network really has, switched by tests while connections are open, with counters
 * that prove each fault took place.
 */
@NullMarked
package io.leasehold.testkit.proxy;

import org.jspecify.annotations.NullMarked;
