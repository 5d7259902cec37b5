package io.leasehold.checks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The words of sources, scripts and pages for users: see "How we write" in {@code CONTRIBUTING.md}. */
@Tag("quick")
class WordsTest {

    private static final Pattern VAGUE =
            Pattern.compile("\\b(whoever|somebody|for\\s+(?:(?:\\*|//|--|#)\\s+)?people)\\b", Pattern.CASE_INSENSITIVE);

    /**
     * Idioms that have a plain term: release, permanently, forever, is notified, continues, requested, no client, its
     * own, next to.
     */
    private static final Pattern IDIOM = Pattern.compile(
            ("(?<![\\w-])(given back|gives? (it |them |the lock )?back|for good|for ever|(is|are) told|goes? on"
                            + "|asked for|nobody|one's own|of ours|but for|hears|hear of|beside)(?![\\w-])")
                    .replace(" ", "\\s+(?:(?:\\*|//|--|#)\\s+)?"),
            Pattern.CASE_INSENSITIVE);

    private static final String ROLES =
            "say process, client, holder, caller, attempt, thread, waiter or operator; for logs and messages";

    private static final String PLAIN =
            "say release, permanently, forever, is notified, continues, requested, no client, its own, next to";

    /** Comments and literals, the words of a source; identifiers are no prose. */
    private static final Pattern PROSE = Pattern.compile(
            "\"\"\".*?\"\"\"|\"[^\"\\\\\\n]*(?:\\\\.[^\"\\\\\\n]*)*\"|'(?:\\\\.|[^'\\\\\\n])+'|//[^\\n]*|/\\*.*?\\*/",
            Pattern.DOTALL);

    /** First words of a Javadoc: a clause instead of a subject, or a verb that does not say what the method does. */
    private static final Pattern FIRST_WORD =
            Pattern.compile("/\\*\\*[\\s*]+(What|Who|Whoever|Somebody|Nobody|Sees|Says|Looks)\\b[^\\n]*");

    @Test
    void sourcesNameTheRoleAndNotSomebody() {
        assertThat(found(VAGUE)).as(ROLES).isEmpty();
    }

    @Test
    void javadocBeginsWithTheThingOrWhatItDoes() {
        assertThat(found(FIRST_WORD))
                .as("a noun for a type, a value or a field; a verb in the third person for a method that acts")
                .isEmpty();
    }

    @Test
    void sourcesUseTheTermsOfTheField() {
        assertThat(found(IDIOM)).as(PLAIN).isEmpty();
    }

    @Test
    void scriptsUseTheTermsOfTheField() {
        List<Path> scripts = new ArrayList<>();
        for (Module module : Module.values()) {
            for (String kind : List.of(".lua", ".sh", ".pl", ".sql")) {
                scripts.addAll(Module.filesBelow(module.folder().resolve("src/main/resources"), kind));
            }
        }
        assertThat(scripts).isNotEmpty();
        assertThat(foundIn(scripts, Module::read, VAGUE)).as(ROLES).isEmpty();
        assertThat(foundIn(scripts, Module::read, IDIOM)).as(PLAIN).isEmpty();
    }

    /** Pages for users; {@code docs/style.md} quotes these words. */
    @Test
    void pagesUseTheTermsOfTheField() {
        List<Path> pages = new ArrayList<>(List.of(Module.root().resolve("README.md")));
        for (String folder : List.of("stores", "runbooks", "migration")) {
            pages.addAll(Module.filesBelow(Module.root().resolve("docs").resolve(folder), ".md"));
        }
        pages.add(Module.root().resolve("docs/wire-format.md"));
        pages.add(Module.root().resolve("docs/demos.md"));
        assertThat(pages).hasSizeGreaterThan(20);
        assertThat(foundIn(pages, Module::read, VAGUE)).as(ROLES).isEmpty();
        assertThat(foundIn(pages, Module::read, IDIOM)).as(PLAIN).isEmpty();
    }

    private static List<String> found(Pattern words) {
        List<String> found = new ArrayList<>();
        for (Module module : Module.values()) {
            assertThat(module.sourceFiles()).as("sources of " + module).isNotEmpty();
            found.addAll(foundIn(module.sourceFiles(), WordsTest::prose, words));
        }
        return found;
    }

    private static List<String> foundIn(List<Path> files, Function<Path, String> text, Pattern words) {
        List<String> found = new ArrayList<>();
        for (Path file : files) {
            Matcher matcher = words.matcher(text.apply(file));
            while (matcher.find()) {
                found.add(Module.shown(file) + ": " + matcher.group());
            }
        }
        return found;
    }

    private static String prose(Path file) {
        return PROSE.matcher(Module.read(file))
                .results()
                .map(MatchResult::group)
                .collect(Collectors.joining("\n"));
    }
}
