package io.leasehold.checks;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import java.io.PrintStream;
import java.text.NumberFormat;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Text is for machines, or in one language: it must not depend on the locale of the machine. With an Arabic locale,
 * {@code %d} writes digits that no parser accepts; with a Turkish one, {@code "FILE".toLowerCase()} is not "file".
 */
@Tag("full")
class LocaleTest {

    private static final ArchRule RULE = noClasses()
            .should()
            .accessTargetWhere(dependsOnTheLocale())
            .because("it depends on the machine's locale: name one, as in String.format(Locale.ROOT, …)");

    private static DescribedPredicate<JavaAccess<?>> dependsOnTheLocale() {
        return new DescribedPredicate<>("format or change case without a locale") {
            @Override
            public boolean test(JavaAccess<?> access) {
                return access.getTarget() instanceof AccessTarget.CodeUnitAccessTarget target
                        && target.getRawParameterTypes().stream().noneMatch(type -> type.isEquivalentTo(Locale.class))
                        && isLocalised(target.getOwner(), target.getName());
            }
        };
    }

    private static boolean isLocalised(JavaClass owner, String name) {
        return switch (owner.getName()) {
            case "java.lang.String" ->
                List.of("format", "formatted", "toLowerCase", "toUpperCase").contains(name);
            case "java.util.Formatter" -> name.equals("<init>");
            case "java.text.DecimalFormat", "java.text.SimpleDateFormat" -> name.equals("<init>");
            case "java.text.MessageFormat" -> name.equals("<init>") || name.equals("format");
            case "java.text.NumberFormat", "java.text.DateFormat" ->
                name.startsWith("get") && name.endsWith("Instance");
            case "java.time.format.DateTimeFormatter" -> name.equals("ofPattern");
            default ->
                (name.equals("printf") || name.equals("format"))
                        && (owner.isAssignableTo(PrintStream.class)
                                || owner.isAssignableTo("java.io.PrintWriter")
                                || owner.isAssignableTo("java.io.Console"));
        };
    }

    @Test
    void nothingDependsOnTheLocaleOfTheMachine() {
        RULE.check(ProductionClasses.ofAll());
    }

    /** Calls each forbidden method once, to test the rule. */
    @SuppressWarnings({"StringCaseLocaleUsage", "DefaultLocale", "FormatStringConcatenation", "AnnotateFormatMethod"})
    static final class Careless {
        private Careless() {}

        static String format(long number) {
            return String.format("%d", number);
        }

        static String formatted(long number) {
            return "%d".formatted(number);
        }

        static String lower(String text) {
            return text.toLowerCase();
        }

        static UnaryOperator<String> upper() {
            return String::toUpperCase;
        }

        static void print(long number) {
            System.out.printf("%d", number);
        }

        static NumberFormat numbers() {
            return NumberFormat.getInstance();
        }
    }

    /** The permitted forms of the same calls. */
    static final class Careful {
        private Careful() {}

        static String text(long number, String text) {
            System.out.printf(Locale.ROOT, "%d", number);
            return String.format(Locale.ROOT, "%d", number) + text.toLowerCase(Locale.ROOT);
        }
    }

    @Test
    void theRuleNoticesWhatItForbids() {
        assertThat(RULE.evaluate(new ClassFileImporter().importClasses(Careless.class))
                        .getFailureReport()
                        .getDetails())
                .hasSize(6);
        assertThat(RULE.evaluate(new ClassFileImporter().importClasses(Careful.class))
                        .hasViolation())
                .isFalse();
    }
}
