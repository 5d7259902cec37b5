/** Load from other JVMs, with orders and answers as lines of JSON. */
@NullMarked
package io.leasehold.benchmarks.child;

import org.jspecify.annotations.NullMarked;
