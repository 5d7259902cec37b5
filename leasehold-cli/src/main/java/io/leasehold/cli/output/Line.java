package io.leasehold.cli.output;

/**
 * A line of output.
 *
 * @param style its meaning
 * @param text any text
 */
public record Line(Style style, String text) {}
