package io.leasehold.checks;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noMembers;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The shape of classes: final, composed, without shared mutable state, and without output. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS) // the classes are read once
@Tag("quick")
class ShapeTest {

    private final JavaClasses all = ProductionClasses.ofAll();
    /** Not the testkit: its report is its output. */
    private final JavaClasses libraries = ProductionClasses.of(Module.CORE, Module.REDIS, Module.JDBC, Module.SERVERS);

    @Test
    void concreteClassesAreFinal() {
        DescribedPredicate<JavaClass> concrete = new DescribedPredicate<>("concrete classes") {
            @Override
            public boolean test(JavaClass type) {
                return !type.isInterface()
                        && !type.isEnum()
                        && !type.isRecord()
                        && !type.isAnonymousClass()
                        && !type.isNestedClass()
                        && !type.getModifiers().contains(JavaModifier.ABSTRACT)
                        // A container creates a proxy of it.
                        && !type.isAnnotatedWith("jakarta.enterprise.context.ApplicationScoped")
                        && !type.getSimpleName().equals("package-info")
                        && !type.getSimpleName().equals("module-info")
                        && type.getAllSubclasses().isEmpty();
            }
        };
        classes()
                .that(concrete)
                .should()
                .haveModifier(JavaModifier.FINAL)
                .because("we compose; what is not meant to be extended says so")
                .check(all);
    }

    @Test
    void nothingIsProtected() {
        noMembers()
                .that()
                .areDeclaredInClassesThat()
                .areNotEnums()
                .and()
                .areDeclaredInClassesThat()
                .areNotAssignableTo(ClassValue.class) // the JDK's method, which computes a value
                .should()
                .beProtected()
                .check(all);
    }

    @Test
    void thereIsNoStaticMutableState() {
        fields().that().areStatic().should().beFinal().check(all);
    }

    @Test
    void namesSayWhatAClassIsFor() {
        noClasses()
                .should()
                .haveNameMatching(".*(Helper|Helpers|Util|Utils|Support|Impl|Part[0-9]+)(\\$.*)?")
                .because("such a name does not say who decides what")
                .check(all);
    }

    @Test
    void librariesDoNotPrint() {
        noClasses()
                .should()
                .accessField(System.class, "out")
                .orShould()
                .accessField(System.class, "err")
                .orShould()
                .callMethod(Throwable.class, "printStackTrace")
                .because("a library logs through slf4j")
                .check(libraries);
    }
}
