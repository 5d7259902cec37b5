package io.leasehold.checks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Sources name the process, client, holder, caller or operator: see "How we write" in {@code CONTRIBUTING.md}. */
@Tag("quick")
class WordsTest {

    /** The modules without these words; the list only grows. */
    private static final List<Module> CLEAN = List.of(
            Module.CORE,
            Module.REDIS,
            Module.JEDIS,
            Module.JDBC,
            Module.ZOOKEEPER,
            Module.ETCD,
            Module.MICROMETER,
            Module.REACTOR,
            Module.KOTLIN,
            Module.CDI,
            Module.SPRING,
            Module.SPRING_BOOT,
            Module.SPRING_BOOT_TEST,
            Module.SHEDLOCK,
            Module.SPRING_INTEGRATION,
            Module.SERVERS,
            Module.TESTKIT,
            Module.SIMULATOR,
            Module.CLI,
            Module.DEMO,
            Module.VERIFY);

    /** The modules whose sources also use the terms of the field; the list only grows. */
    private static final List<Module> PLAIN = List.of(
            Module.JEDIS,
            Module.JDBC,
            Module.ZOOKEEPER,
            Module.ETCD,
            Module.MICROMETER,
            Module.REACTOR,
            Module.KOTLIN,
            Module.CDI,
            Module.SPRING,
            Module.SPRING_BOOT,
            Module.SPRING_BOOT_TEST,
            Module.SHEDLOCK,
            Module.SPRING_INTEGRATION,
            Module.SERVERS,
            Module.TESTKIT,
            Module.SIMULATOR,
            Module.CLI,
            Module.DEMO,
            Module.VERIFY);

    private static final Pattern VAGUE =
            Pattern.compile("\\b(whoever|somebody|for\\s+(?:\\*\\s+|//\\s+)?people)\\b", Pattern.CASE_INSENSITIVE);

    /**
     * Idioms that have a plain term: release, permanently, forever, is notified, continues, requested, no client, its
     * own, next to.
     */
    private static final Pattern IDIOM = Pattern.compile(
            ("(?<![\\w-])(given back|gives? (it |them |the lock )?back|for good|for ever|(is|are) told|goes? on"
                            + "|asked for|nobody|one's own|of ours|but for|hears|hear of|beside)(?![\\w-])")
                    .replace(" ", "\\s+(?:\\*\\s+|//\\s+)?"),
            Pattern.CASE_INSENSITIVE);

    /** Comments and literals, the words of a source; identifiers are no prose. */
    private static final Pattern PROSE = Pattern.compile(
            "\"\"\".*?\"\"\"|\"[^\"\\\\\\n]*(?:\\\\.[^\"\\\\\\n]*)*\"|'(?:\\\\.|[^'\\\\\\n])+'|//[^\\n]*|/\\*.*?\\*/",
            Pattern.DOTALL);

    /** First words of a Javadoc: a clause instead of a subject, or a verb that does not say what the method does. */
    private static final Pattern FIRST_WORD =
            Pattern.compile("/\\*\\*[\\s*]+(What|Who|Whoever|Somebody|Nobody|Sees|Says|Looks)\\b[^\\n]*");

    @Test
    void sourcesNameTheRoleAndNotSomebody() {
        assertThat(found(CLEAN, VAGUE))
                .as("say process, client, holder, caller, attempt, thread, waiter or operator; for logs and messages")
                .isEmpty();
    }

    @Test
    void javadocBeginsWithTheThingOrWhatItDoes() {
        assertThat(found(CLEAN, FIRST_WORD))
                .as("a noun for a type, a value or a field; a verb in the third person for a method that acts")
                .isEmpty();
    }

    @Test
    void sourcesUseTheTermsOfTheField() {
        assertThat(found(PLAIN, IDIOM))
                .as("say release, permanently, forever, is notified, continues, requested, no client, its own, next to")
                .isEmpty();
    }

    private static List<String> found(List<Module> modules, Pattern words) {
        List<String> found = new ArrayList<>();
        for (Module module : modules) {
            List<Path> files = module.sourceFiles();
            assertThat(files).as("sources of " + module).isNotEmpty();
            for (Path file : files) {
                Matcher matcher = words.matcher(prose(file));
                while (matcher.find()) {
                    found.add(Module.shown(file) + ": " + matcher.group());
                }
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
