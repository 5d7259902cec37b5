package io.leasehold.checks.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.checks.Documents;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Every relative link in the documents leads to a file, and its anchor to a heading there. */
@Tag("quick")
class DocumentLinksTest {

    private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
    private static final Pattern CODE = Pattern.compile("(?ms)^```.*?^```|`[^`\\n]*`");
    private static final Pattern HEADING = Pattern.compile("(?m)^#{1,6} (.*)$");
    private static final Pattern ANCHOR = Pattern.compile("<a (?:id|name)=\"([^\"]+)\"");
    private static final Pattern BLOCK = Pattern.compile("(?ms)^```.*?^```");

    private final Map<Path, Set<String>> anchors = new HashMap<>();

    @Test
    void linksLeadSomewhere() throws IOException {
        List<String> broken = new ArrayList<>();
        List<Path> pages = pages();
        for (Path page : pages) {
            Matcher link = LINK.matcher(CODE.matcher(Files.readString(page)).replaceAll(""));
            while (link.find()) {
                String target = link.group(1);
                if (!target.matches("[a-z]+:.*") && !exists(page, target)) {
                    broken.add(Documents.root().relativize(page) + ": " + target);
                }
            }
        }
        assertThat(pages).hasSizeGreaterThan(50);
        assertThat(broken).isEmpty();
    }

    private boolean exists(Path page, String target) throws IOException {
        int hash = target.indexOf('#');
        String path = hash < 0 ? target : target.substring(0, hash);
        Path file = path.isEmpty() ? page : page.resolveSibling(path).normalize();
        if (!Files.exists(file)) {
            return false;
        }
        return hash < 0 || !file.toString().endsWith(".md") || anchorsOf(file).contains(target.substring(hash + 1));
    }

    private Set<String> anchorsOf(Path page) throws IOException {
        Set<String> known = anchors.get(page);
        if (known != null) {
            return known;
        }
        String text = BLOCK.matcher(Files.readString(page)).replaceAll("");
        Set<String> found = new HashSet<>();
        Map<String, Integer> times = new HashMap<>();
        for (Matcher heading = HEADING.matcher(text); heading.find(); ) {
            String slug = slug(heading.group(1));
            int before = times.merge(slug, 1, Integer::sum) - 1;
            found.add(before == 0 ? slug : slug + "-" + before);
        }
        for (Matcher anchor = ANCHOR.matcher(text); anchor.find(); ) {
            found.add(anchor.group(1));
        }
        anchors.put(page, found);
        return found;
    }

    /** The anchor that GitHub creates for a heading. */
    private static String slug(String heading) {
        String words =
                heading.replaceAll("\\[([^\\]]*)\\]\\([^)]*\\)", "$1").strip().toLowerCase(Locale.ROOT);
        StringBuilder slug = new StringBuilder();
        words.codePoints()
                .filter(c -> c == '-' || c == '_' || c == ' ' || Character.isLetterOrDigit(c))
                .forEach(c -> slug.appendCodePoint(c == ' ' ? '-' : c));
        return slug.toString();
    }

    /** The documents of the checkout, without the output of builds. */
    private static List<Path> pages() throws IOException {
        try (Stream<Path> files = Files.walk(Documents.root(), 6)) {
            return files.filter(file -> file.toString().endsWith(".md"))
                    .filter(file ->
                            Documents.root().relativize(file).toString().matches("(?!.*(target|node_modules|/\\.)).*"))
                    .sorted()
                    .toList();
        }
    }
}
