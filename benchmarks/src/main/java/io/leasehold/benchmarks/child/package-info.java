/** Load from other JVMs, by orders and answers in lines of JSON. */
@NullMarked
package io.leasehold.benchmarks.child;

import org.jspecify.annotations.NullMarked;
