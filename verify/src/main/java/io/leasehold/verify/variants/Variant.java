package io.leasehold.verify.variants;

/**
 * One production class or script with one rule removed, as a change of its source.
 *
 * @param name the name of the variant
 * @param broken the rule, and the behaviour without it
 * @param source the file, relative to the package root
 * @param rule the text that states the rule; it must occur exactly once
 * @param without the text that replaces it
 */
record Variant(String name, String broken, String source, String rule, String without) {

    /**
     * The source without the rule.
     *
     * @throws IllegalStateException if the text does not occur exactly once: the variant must follow the code
     */
    String applyTo(String text) {
        int at = text.indexOf(rule);
        if (at < 0 || text.indexOf(rule, at + 1) >= 0) {
            throw new IllegalStateException("variant " + name + ": \"" + rule + "\" must stand exactly once in "
                    + source + ", and does not; follow the code in Variants");
        }
        return text.replace(rule, without);
    }

    /** Whether it is a class; otherwise it is a script. */
    boolean isClass() {
        return source.endsWith(".java");
    }
}
