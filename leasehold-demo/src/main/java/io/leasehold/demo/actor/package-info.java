/** A process of a demonstration that does one step at a time, as it is told: with our lock, with a broken one, or without. */
@NullMarked
package io.leasehold.demo.actor;

import org.jspecify.annotations.NullMarked;
