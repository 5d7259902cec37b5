package io.leasehold.memory;

import java.util.regex.Pattern;

/** Globs ({@code *} any text, {@code ?} any character) as regular expressions. */
final class Globs {

    private Globs() {}

    static Pattern pattern(String glob) {
        StringBuilder regex = new StringBuilder();
        StringBuilder literal = new StringBuilder();
        for (int i = 0; i < glob.length(); i++) {
            char c = glob.charAt(i);
            if (c == '*' || c == '?') {
                regex.append(Pattern.quote(literal.toString())).append(c == '*' ? ".*" : ".");
                literal.setLength(0);
            } else {
                literal.append(c);
            }
        }
        return Pattern.compile(regex.append(Pattern.quote(literal.toString())).toString(), Pattern.DOTALL);
    }
}
