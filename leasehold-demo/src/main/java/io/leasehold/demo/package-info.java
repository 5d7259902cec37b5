/** The demonstration: real processes that fight for one lock over a real server, and a verdict on what they wrote. */
@NullMarked
package io.leasehold.demo;

import org.jspecify.annotations.NullMarked;
