/** Text for people and JSON for scripts; nothing that was read from elsewhere reaches a terminal unescaped. */
@NullMarked
package io.leasehold.cli.output;

import org.jspecify.annotations.NullMarked;
