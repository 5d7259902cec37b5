/** What processes write down while they fight for a lock, and what can be proved from nothing but that. */
@NullMarked
package io.leasehold.demo.history;

import org.jspecify.annotations.NullMarked;
